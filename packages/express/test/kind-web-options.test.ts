import { expect } from "chai";
import request from "supertest";
import { faultsOf } from "./support/refusal.ts";
import { makeService } from "./support/test-service.ts";

const withoutWeb = (key: string) => ({
  key,
  message: `has no effect without kind "web"; set kind: "web", or remove ${key}`,
});

describe("the option `kind`", () => {
  it("PROF-7 accepts api, web and gateway in the full profile, and no other value", async () => {
    for (const kind of ["api", "web"] as const) {
      const { service } = await makeService({ kind });
      expect((await request(service.app).get("/health")).status, kind).to.equal(200);
      await service.stop();
    }
    expect(await faultsOf({ kind: "page" as never })).to.deep.equal([
      { key: "kind", message: 'must be one of "api", "web", "gateway"; it is "page"' },
    ]);
  });

  it("PROF-6 refuses every kind but api in the reduced profile", async () => {
    const reduced = { profile: "reduced", config: undefined, env: { SVC_APP_NAME: "small" } } as const;
    for (const kind of ["web", "gateway"] as const) {
      expect(await faultsOf({ ...reduced, kind })).to.deep.equal([
        {
          key: "kind",
          message: `"${kind}" is available only in the full profile; the reduced profile has only the kind "api"`,
        },
      ]);
    }
    const { service } = await makeService({ ...reduced, kind: "api" });
    await service.stop();
  });

  it("PROF-6 reports the kind and a configuration file in one error in the reduced profile", async () => {
    const faults = await faultsOf({ profile: "reduced", kind: "web" });
    expect(faults.map(({ key }) => key)).to.deep.equal(["config", "kind"]);
  });

  it("PROF-7 rejects the options of web services in every other kind, in one error", async () => {
    const options = { errorPage: () => "", publicDir: "test", publicMaxAgeSeconds: 1 };
    const all = ["errorPage", "publicDir", "publicMaxAgeSeconds"].map(withoutWeb);
    expect(await faultsOf(options)).to.deep.equal(all);
    const toml = '[plugins]\nenabled = ["gateway"]\n';
    expect(await faultsOf({ ...options, kind: "gateway", toml })).to.deep.equal(all);
  });

  it("rejects invalid values of the options of web services", async () => {
    const wrong = { errorPage: "<h1>", publicDir: 5, publicMaxAgeSeconds: -1 };
    const faults = await faultsOf({ kind: "web", ...(wrong as object) });
    expect(faults.map(({ key }) => key).toSorted()).to.deep.equal(Object.keys(wrong).toSorted());
    const tooLong = await faultsOf({ kind: "web", publicMaxAgeSeconds: 31_536_001 });
    expect(tooLong.map(({ key }) => key)).to.deep.equal(["publicMaxAgeSeconds"]);
  });

  it("refuses a publicDir that is not an existing folder", async () => {
    for (const publicDir of [
      "nowhere",
      "package.json",
      new URL("nowhere", import.meta.url),
      new URL("https://x/a"),
    ]) {
      expect(await faultsOf({ kind: "web", publicDir })).to.deep.equal([
        {
          key: "publicDir",
          message: `must be an existing folder, as a path or a file: URL; it is "${String(publicDir)}"`,
        },
      ]);
    }
  });

  it("lists a missing publicDir together with the faults of plugins", async () => {
    const toml = '[plugins]\nenabled = ["queue"]\n';
    const faults = await faultsOf({ kind: "web", publicDir: "nowhere", toml });
    expect(faults.map(({ key }) => key))
      .to.include("publicDir")
      .and.to.have.length.above(1);
  });
});
