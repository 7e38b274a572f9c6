import { startNats, testNats } from "@svc/dev-services";
import { expect } from "chai";
import { connect } from "node:net";
import { isAlive } from "../src/processes.ts";

/** Connects to a server with `login`, sends PING, and returns the server's output up to PONG or an error. */
async function asked(port: number, login: object = {}): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8");
  socket.write(`CONNECT ${JSON.stringify({ verbose: false, ...login })}\r\nPING\r\n`);
  for await (const chunk of socket as AsyncIterable<string>) {
    text += chunk;
    if (/^(PONG|-ERR)/m.test(text)) break;
  }
  socket.destroy();
  return text;
}

describe("testNats", function () {
  this.timeout(60_000);
  const nats = testNats({ login: { user: "somebody", password: "p@ss" } });

  it("starts a server with JetStream and a password, restarts it on the same port and stops it", async () => {
    const { port } = nats.server;
    expect(nats.url).to.equal(`nats://somebody:p%40ss@127.0.0.1:${port}`);
    expect(await asked(port))
      .to.match(/"jetstream":true/)
      .and.to.match(/^-ERR 'Authorization Violation'/m);
    const login = { user: "somebody", pass: "p@ss" };
    expect(await asked(port, login)).to.match(/^PONG/m);
    const { pid } = nats.server;
    await nats.server.restart();
    expect(isAlive(pid)).to.equal(false);
    expect(nats.server.pid).not.to.equal(pid);
    expect(await asked(port, login)).to.match(/^PONG/m);

    const other = await startNats({ jetStream: false });
    expect(await asked(other.port)).to.not.match(/"jetstream":true/);
    await other.stop();
    expect(isAlive(other.pid)).to.equal(false);
  });
});
