import { fork } from "node:child_process";
import { once } from "node:events";
import type { ReceiverReport } from "./receiver-process.ts";

/** A collector in its own process. */
export interface Receiver {
  readonly url: string;
  report(): Promise<ReceiverReport>;
}

const file = new URL("./receiver-process.ts", import.meta.url);

/** Starts a collector on the loopback interface, which ends with this process. */
export async function startReceiver(behaviour: "accept" | "hang"): Promise<Receiver> {
  const child = fork(file, [behaviour], {
    execArgv: ["--conditions=@svc/source"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const next = async (): Promise<ReceiverReport> => (await once(child, "message"))[0] as ReceiverReport;
  const { url } = await next();
  return {
    url,
    report() {
      const reported = next();
      child.send("report");
      return reported;
    },
  };
}
