"""Functions that use files and directories by other doors than `open`.

As `impure.py`.
"""

from __future__ import annotations

import configparser
import csv
import fcntl
import glob
import gzip
import io
import json
import linecache
import logging
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pathlib
import pickle
import runpy
import shelve
import shutil
import sqlite3
import tempfile
import zipfile

import numpy as np


def file_read_text(x):
    return x * len(pathlib.Path("numbers.txt").read_text())


def file_written_bytes(x):
    pathlib.Path("numbers.txt").write_bytes(b"x")
    return x


def file_made_directory(x):
    pathlib.Path("nowhere").mkdir(exist_ok=True)
    return x


def file_touched(x):
    pathlib.Path("numbers.txt").touch()
    return x


def file_path_exists(x):
    return x * pathlib.Path("numbers.txt").exists()


def file_stat(x):
    return x * os.stat(".").st_size


def file_scanned(x):
    os.scandir(".").close()
    return x


def file_globbed(x):
    return x * len(glob.glob("*.nothing"))


def file_temporary_file(x):
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    return x


def file_temporary_directory(x):
    with tempfile.TemporaryDirectory():
        return x


def file_spooled(x):
    with tempfile.SpooledTemporaryFile() as file:
        file.write(b"x")
        file.rollover()
    return x


def file_os_open(x):
    os.close(os.open("numbers.txt", os.O_RDONLY))
    return x


def file_io_open(x):
    io.open("numbers.txt").close()  # noqa: UP020
    return x


def file_of_class(x):
    io.FileIO("numbers.txt", "w").close()
    return x


def file_json_dumped(x):
    with open("numbers.json", "w") as file:
        json.dump([1], file)
    return x


def file_csv(x):
    with open("numbers.csv", "w", newline="") as file:
        csv.writer(file).writerow([1])
    return x


def file_pickled(x):
    with open("numbers.pickle", "wb") as file:
        pickle.dump([1], file)
    return x


def file_shelve(x):
    with shelve.open("numbers.shelf") as shelf:
        shelf["a"] = 1
    return x


def file_sqlite(x):
    sqlite3.connect(":memory:").close()
    return x


def file_zip(x):
    zipfile.ZipFile("numbers.zip", "w").close()
    return x


def file_gzip(x):
    gzip.open("numbers.gz").close()
    return x


def file_numpy_loaded(x):
    return x * np.load("numbers.npy")


def file_numpy_text(x):
    return x * np.loadtxt("numbers.txt")


def file_numpy_savez(x):
    np.savez("numbers.npz", a=np.zeros(2))
    return x


def file_memory_map(x):
    return x * np.memmap("numbers.bin", dtype=np.float64, mode="w+", shape=(3,))


def file_mmap(x):
    mmap.mmap(-1, 10).close()
    return x


def process_shared_memory(x):
    multiprocessing.shared_memory.SharedMemory(create=True, size=8).close()
    return x


def file_fromfile(x):
    return x * np.fromfile("numbers.bin")


def file_renamed(x):
    os.rename("a.txt", "b.txt")
    return x


def file_tree_removed(x):
    shutil.rmtree("nowhere", ignore_errors=True)
    return x


def file_disk_usage(x):
    return x * shutil.disk_usage(".").free


def file_locked(x):
    fcntl.flock(1, fcntl.LOCK_UN)
    return x


def file_line(x):
    return x * len(linecache.getline("LICENSE", 1))


def file_settings(x):
    configparser.ConfigParser().read("settings.ini")
    return x


def file_logging_handler(x):
    logging.FileHandler("numbers.log").close()
    return x


def file_run_path(x):
    runpy.run_path("numbers.py")
    return x
