import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { startService } from "../harness/service-process.ts";

describe("startService()", function () {
  this.timeout(60_000);

  /** Blocks this process repeatedly, so that child processes exit between two turns of its event loop. */
  async function standStill(): Promise<Disposable> {
    const wait = new Int32Array(new SharedArrayBuffer(4));
    const answer = (socket: Socket): Socket =>
      socket
        .on("error", () => undefined)
        .on("data", () => {
          Atomics.wait(wait, 0, 0, 100);
          socket.write(".");
        });
    const server = createServer(answer).listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = answer(connect((server.address() as AddressInfo).port, "127.0.0.1"));
    socket.write(".");
    return {
      [Symbol.dispose]() {
        socket.destroy();
        server.close();
      },
    };
  }

  it("resolves for a service that exits as soon as it has announced its port", async () => {
    using _ = await standStill();
    const ends = await Promise.all(
      Array.from({ length: 24 }, async () => {
        await using service = await startService("ends-at-once.ts", {});
        return (await service.exited).code;
      }),
    );
    expect(ends).to.deep.equal(Array.from({ length: 24 }, () => 0));
  });

  it("rejects with the exit code of a service that exits before it announces its port", async () => {
    const says = { execArgv: ["--import", "data:text/javascript,console.error('no'); process.exit(7)"] };
    const started = startService("ends-at-once.ts", {}, says);
    expect((await rejection(started)).message).to.equal(
      "ends-at-once.ts did not start: Error: ended with 7 before its message with port no\n",
    );
  });
});
