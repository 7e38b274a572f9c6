import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ServerProcess, startServer } from "./server-process.ts";

/** The options of {@link startNginx}. */
export interface NginxOptions {
  /**
   * Returns the content of the block `http`, which must listen on this port of 127.0.0.1.
   *
   * @param folder an empty folder for the files that nginx serves; it is removed after nginx stops
   */
  readonly http: (port: number, folder: string) => string;
}

/** Temporary files that nginx otherwise keeps in /var/lib/nginx, where only root may write. */
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/**
 * Starts an nginx on 127.0.0.1. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if nginx is not installed; Error if it does not start
 */
export function startNginx({ http }: NginxOptions): Promise<ServerProcess> {
  return startServer({
    program: "nginx",
    args: (port, folder) => {
      const files = join(folder, "files");
      mkdirSync(files, { recursive: true });
      writeFileSync(join(folder, "nginx.conf"), settings(folder, http(port, files)));
      return ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")];
    },
    signal: "SIGTERM",
    url: (port) => `http://127.0.0.1:${port}`,
  });
}

function settings(folder: string, http: string): string {
  const temporary = TEMPORARY.map((name) => `${name}_temp_path ${join(folder, name)};`);
  // A single process cannot leave a worker behind, and keeps the user that started it.
  return `daemon off;
master_process off;
pid ${join(folder, "nginx.pid")};
events { worker_connections 1024; }
http {
access_log off;
${temporary.join("\n")}
${http}
}
`;
}
