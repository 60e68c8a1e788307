"""An S3 server on loopback: moto, one request at a time.

moto looks at a condition and writes in two steps. One request at a time makes of them one step,
as a real server does. `--age SECONDS` makes every object look that much older. `GET /-/requests` answers
how many requests there were before it, and how many bytes of bodies came in and went out.
"""

import argparse
import datetime
import logging
import os
import sys
import threading

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3 import models
from werkzeug.serving import make_server


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--age", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.age:
        real = models.utcnow
        models.utcnow = lambda: real() - datetime.timedelta(seconds=arguments.age)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = DomainDispatcherApplication(create_backend_app)
    seen = [0, 0, 0]

    def app(environ, start_response):
        if environ["PATH_INFO"] == "/-/requests":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [" ".join(map(str, seen)).encode()]
        answer = list(moto(environ, start_response))
        counts = (1, int(environ.get("CONTENT_LENGTH") or 0), sum(map(len, answer)))
        seen[:] = map(sum, zip(seen, counts))
        return answer

    server = make_server("127.0.0.1", 0, app, threaded=False)
    print(server.server_port, flush=True)

    def watch() -> None:
        # The test closes our stdin when it ends, however it ends.
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    server.serve_forever()


main()
