import { type ServerProcess, startHttpbin, startNginx, testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../src/processes.ts";
import { rejection } from "./support/rejection.ts";

/** Fetches a body from a server, stops the server and checks that its process has ended. */
async function textBeforeStop(server: ServerProcess, path: string): Promise<string> {
  const text = await (await fetch(server.url + path)).text();
  await server.stop();
  expect(isAlive(server.pid)).to.equal(false);
  expect((await rejection(fetch(server.url))).message).to.equal("fetch failed");
  return text;
}

describe("startNginx", function () {
  this.timeout(60_000);
  testProgram("nginx");

  it("serves the files of its folder, and removes them when it stops", async () => {
    let file = "";
    const server = await startNginx({
      http(port, folder) {
        file = join(folder, "a.txt");
        writeFileSync(file, "text");
        return `server { listen 127.0.0.1:${port}; root ${folder}; }`;
      },
    });
    expect(await textBeforeStop(server, "/a.txt")).to.equal("text");
    expect(existsSync(file)).to.equal(false);
  });
});

describe("startHttpbin", function () {
  this.timeout(60_000);
  testProgram("httpbin");

  it("starts an httpbin, and ends its process at stop()", async () => {
    const text = await textBeforeStop(await startHttpbin(), "/get?a=1");
    expect(JSON.parse(text)).to.deep.include({ args: { a: "1" } });
  });
});
