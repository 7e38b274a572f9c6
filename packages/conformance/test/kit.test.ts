import { Server } from "node:net";
import { freePort } from "@svc/dev-services";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { createKit } from "../src/kit.ts";
import { serveOtlp } from "../src/otlp-server.ts";
import { resolveSettings } from "../src/resolve-settings.ts";

const url = "http://127.0.0.1:9";

describe("the servers of the kit", () => {
  let address = "";
  beforeEach(async () => {
    address = `127.0.0.1:${await freePort()}`;
  });

  /** Fails if a server still listens on the address. */
  async function expectFree(): Promise<void> {
    await (await serveOtlp(address)).stop();
  }

  it("are stopped if one of them cannot start", async () => {
    const settings = resolveSettings({ url, serveOtlp: address, serveUpstream: address });
    expect((await rejection(createKit(settings, () => 0))).message).to.include("EADDRINUSE");
    await expectFree();
  });

  it("are stopped even if the server of the outbound probe could not start", async () => {
    const kit = await createKit(resolveSettings({ url, serveOtlp: address }), () => 0);
    const listen = Object.getOwnPropertyDescriptor(Server.prototype, "listen") ?? {};
    Server.prototype.listen = function refuse(this: Server) {
      process.nextTick(() => this.emit("error", new Error("EMFILE")));
      return this;
    };
    try {
      expect((await rejection(kit.echo())).message).to.include("EMFILE");
    } finally {
      Object.defineProperty(Server.prototype, "listen", listen);
    }
    await kit.close();
    await expectFree();
  });
});
