"""Functions that start processes and threads, and use the network, by libraries.

As `impure.py`.
"""

from __future__ import annotations

import _thread
import asyncio
import http.client
import multiprocessing
import multiprocessing.shared_memory
import os
import signal
import smtplib
import socket
import subprocess
import threading
import urllib.request


def process_popen(x):
    return x * len(os.popen("true").read())


def process_check_output(x):
    return x * len(subprocess.check_output(["true"]))


def process_pool(x):
    with multiprocessing.Pool(1) as pool:
        return x * pool.apply(len, ("a",))


def process_fork(x):
    if os.fork() == 0:
        os._exit(0)
    return x


def process_killed(x):
    os.kill(12345678, 0)
    return x


def process_raised(x):
    signal.raise_signal(signal.SIGCHLD)
    return x


def process_waited(x):
    os.waitpid(-1, os.WNOHANG)
    return x


def network_opened(x):
    return x * len(urllib.request.urlopen("http://localhost:9").read())


def network_http(x):
    http.client.HTTPConnection("localhost", 9).request("GET", "/")
    return x


def network_address(x):
    return x * len(socket.gethostbyname("localhost"))


def network_pair(x):
    first, second = socket.socketpair()
    first.close()
    second.close()
    return x


def network_mail(x):
    smtplib.SMTP("localhost", 9)
    return x


def thread_timer(x):
    threading.Timer(0, str).start()
    return x


def thread_low(x):
    _thread.start_new(str, ())
    return x


def thread_loop(x):
    loop = asyncio.new_event_loop()
    try:
        return x * loop.run_until_complete(asyncio.sleep(0, 2.0))
    finally:
        loop.close()


def thread_subclass(x):
    class Worker(threading.Thread):
        def run(self):
            pass

    Worker().start()
    return x
