"""stub while threads are tested"""
EXTERNALS=()
def text(h): return ""
