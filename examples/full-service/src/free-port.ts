import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Throws if another process listens on a port. Call it before a database starts. If another process takes the port later,
 * the service reports it.
 */
export async function requireFree(port: number, host: string): Promise<void> {
  const server = createServer().listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return;
    throw new Error(`port ${port} of ${host} is taken; set SVC_PORT to a free one`);
  }
  await new Promise((resolve) => server.close(resolve));
}
