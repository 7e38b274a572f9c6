import type { Backend, useBackends } from "./backends.ts";

export type Backends = ReturnType<typeof useBackends>;

/** Defines a test that runs on every available database. */
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

/** Defines a test that runs once: on a real server if there is one, else on the embedded database. */
export function once(backends: Backends, title: string, body: (backend: Backend) => Promise<void>): void {
  it(title, async () => {
    for (const backend of backends.all.slice(-1)) await body(backend);
  });
}
