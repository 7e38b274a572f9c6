import type { Server } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";

/** Returns the settings that the parent passed to `startService()`. */
export function settingsOfParent<T extends object>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/** Reports the service's port to the parent, and exits when the parent does. */
export function announce(port: number | undefined): void {
  process.on("disconnect", () => process.exit(3));
  process.send?.({ port });
  // Flush now: most services are killed, and would otherwise leave no compile cache for the next ones.
  flushCompileCache();
}

/**
 * Listens on the loopback interface, and announces the port. For variants that use no `createService()`.
 *
 * @param port default: a free port
 */
export function listenAndAnnounce(server: Server, port = 0): void {
  server.listen(port, "127.0.0.1", () => announce((server.address() as AddressInfo).port));
}

/** Answers the parent's questions, by the name of the question. */
export function answerQuestions(answers: Readonly<Record<string, () => unknown>>): void {
  process.on("message", (message: { question?: string }) => {
    const { question } = message;
    if (question === undefined) return;
    void Promise.resolve(answers[question]?.()).then((value) => process.send?.({ [question]: value }));
  });
}
