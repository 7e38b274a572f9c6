import { freePort } from "@svc/dev-services";
import { expect } from "chai";
import { existsSync, readFileSync } from "node:fs";
import { isPortFree } from "../src/free-port.ts";

const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

describe("freePort", () => {
  it("is one that can be listened on, and that the system gives to nobody who asks for any", async () => {
    const given = existsSync(RANGE) ? readFileSync(RANGE, "utf8").trim().split(/\s+/) : [];
    const [lowest = 32_768] = given.map(Number);
    for (let times = 0; times < 20; times++) {
      const port = await freePort();
      expect(await isPortFree(port)).to.equal(true);
      if (lowest >= 32_768) expect(port).to.be.within(1024, lowest - 1);
    }
  });
});
