import type { Backend, useBackends } from "./backends.ts";

export type Backends = ReturnType<typeof useBackends>;

/** A test that runs on every database that is here. */
export function everywhere(
  backends: Backends,
  title: string,
  body: (backend: Backend) => Promise<void>,
): void {
  it(title, async () => {
    for (const backend of backends.all) {
      try {
        await body(backend);
      } catch (error) {
        if (error instanceof Error) error.message = `${backend.name}: ${error.message}`;
        throw error;
      }
    }
  });
}

/** A test of what is the same everywhere: on a real server where there is one, else on the embedded database. */
export function once(backends: Backends, title: string, body: (backend: Backend) => Promise<void>): void {
  it(title, async () => {
    for (const backend of backends.all.slice(-1)) await body(backend);
  });
}
