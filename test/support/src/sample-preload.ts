// Loaded before a README sample: moves every server to a free port of the loopback interface and reports it to the test.
import { Server, type AddressInfo } from "node:net";

// oxlint-disable-next-line typescript/unbound-method -- called with the server as this, below
const listen = Server.prototype.listen;
Server.prototype.listen = function listenOnFreePort(this: Server, ...args: unknown[]): Server {
  const callback = args.find((each) => typeof each === "function") as (() => void) | undefined;
  this.once("listening", () => {
    const { port } = this.address() as AddressInfo;
    process.send?.({ url: `http://127.0.0.1:${port}` });
  });
  return listen.call(this, { port: 0, host: "127.0.0.1" }, callback);
};
// The channel to the test must not keep a finished sample alive.
process.channel?.unref();
