"""Databases that tests start: a Postgres server and a Spark session of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _binary(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """Start a Postgres server in a temporary folder on a free port of this machine; end it afterwards."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, control = _binary("initdb"), _binary("pg_ctl")
    if initdb is None or control is None or os.name != "posix":
        pytest.skip("PostgreSQL is not installed")
    folder, who = tempfile.mkdtemp(prefix="concordant-postgres-"), {}
    data = f"{folder}/data"
    try:
        if os.geteuid() == 0:  # as whom Postgres refuses to run
            who = _other_user(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]

        def done(*words: str) -> bool:
            quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
            return subprocess.run(words, check=False, **quiet, **who).returncode == 0

        if not done(initdb, "-D", data, "-A", "trust", "-U", "tester", "--no-sync"):
            pytest.skip("Postgres cannot create a database cluster here")
        if not done(control, "-D", data, "-w", "-o", f"-h 127.0.0.1 -p {port} -k {folder} -F", "start"):
            pytest.skip("the Postgres server does not start here")
        try:
            with psycopg.connect(f"host=127.0.0.1 port={port} user=tester dbname=postgres") as connection:
                yield connection
        finally:
            assert done(control, "-D", data, "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _other_user(folder: str) -> dict[str, Any]:
    """Give a folder to the user postgres; return how to run a process as that user."""
    import pwd

    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("Postgres does not run as root, and there is no user postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start Spark in this machine's Java; end it afterwards."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.log.level": "ERROR",
        }
        builder = SparkSession.builder.master("local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
