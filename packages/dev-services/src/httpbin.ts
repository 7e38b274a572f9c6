import { type ServerProcess, startServer } from "./server-process.ts";

// httpbin accepts chunked requests only in gunicorn, although Werkzeug decodes them too.
const LAUNCHER = `
import sys
from httpbin import app
from werkzeug.serving import WSGIRequestHandler, run_simple

class Handler(WSGIRequestHandler):
    def make_environ(self):
        return {**super().make_environ(), "SERVER_SOFTWARE": "gunicorn/0"}

run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=Handler)
`;

/**
 * Starts an httpbin on 127.0.0.1, in Werkzeug with HTTP/1.1. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if httpbin is not installed; Error if it does not start
 */
export function startHttpbin(): Promise<ServerProcess> {
  return startServer({
    program: "httpbin",
    // The folder identifies the process.
    args: (port, folder) => ["-c", LAUNCHER, String(port), folder],
    signal: "SIGTERM",
    url: (port) => `http://127.0.0.1:${port}`,
  });
}
