import { expect } from "chai";
import { hostReader, tenantInHost } from "../src/host.ts";

describe("hostReader()", () => {
  const suffix = ".example.com";
  const reserved = new Set(["www"]);

  it("returns the same tenant for a cached host as for a new host (TEN-13)", () => {
    const read = hostReader(suffix, reserved);
    const hosts = [
      "acme.example.com",
      "ACME.example.com:8000",
      "acme.example.com.",
      "www.example.com",
      "a.b.example.com",
      "example.com",
      "acme.example.com:80x",
      "\u212Aelvin.example.com",
      "",
    ];
    for (const turn of ["first", "second"]) {
      for (const host of hosts) {
        expect(read(host), `${host}, ${turn}`).to.equal(tenantInHost(host, suffix, reserved));
      }
    }
    expect(read("acme.example.com")).to.equal("acme");
  });

  it("returns the right tenant for more hosts than the cache holds (TEN-13)", () => {
    const read = hostReader(suffix, reserved);
    for (let turn = 0; turn < 2; turn++) {
      for (let index = 0; index < 2500; index++) {
        const tenant = read(`tenant-${index}.example.com`);
        if (tenant !== `tenant-${index}`) throw new Error(`${index}: ${tenant}`);
      }
    }
    expect(read("tenant-1.example.com:8080")).to.equal("tenant-1");
  });
});
