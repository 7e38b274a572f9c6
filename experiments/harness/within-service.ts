import type { Server } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";

/** The settings that `startService` was given. */
export function settingsOfParent<T extends object>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/** Tells the parent where the service listens, and ends with the parent. */
export function announce(port: number | undefined): void {
  process.on("disconnect", () => process.exit(3));
  process.send?.({ port });
  // Most services are killed, and would leave nothing to those who load the same.
  flushCompileCache();
}

/** Listens on a free port of the loopback interface, and announces it. For variants without a service. */
export function listenAndAnnounce(server: Server): void {
  server.listen(0, "127.0.0.1", () => announce((server.address() as AddressInfo).port));
}

/** Answers what the parent asks, by the name of the question. */
export function answerQuestions(answers: Readonly<Record<string, () => unknown>>): void {
  process.on("message", (told: { question?: string }) => {
    const { question } = told;
    if (question === undefined) return;
    void Promise.resolve(answers[question]?.()).then((value) => process.send?.({ [question]: value }));
  });
}
