import { createServer } from "node:http";
import { jwtAuth, principalOf } from "@svc/jwt-auth";
import { collectingLogger, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";

const token = forge({ algorithm: "HS256" });

/** Sends the header lines unchanged. Returns the caller and, for a refused token, the logged reason. */
async function send(...lines: readonly string[]): Promise<readonly [caller: string, reason: unknown]> {
  const logger = collectingLogger();
  const auth = jwtAuth({ keys: everyKey(), algorithms: ["HS256"], now, logger });
  await using server = await listen((req, res) => {
    auth(req, res, () => res.end(principalOf(req)?.subject ?? "nobody"));
  });
  const bytes = ["GET / HTTP/1.1", "Host: x", "Connection: close", ...lines, "", ""].join("\r\n");
  const { status, body } = await rawRequest(server.port, Buffer.from(bytes, "latin1"));
  const reason = logger.lines.find(({ message }) => message === "bearer token refused")?.fields["reason"];
  return [
    status === 200
      ? (body.split("\r\n").find((line) => /^[a-z]{3,}$/.test(line)) ?? body)
      : `status ${status}`,
    reason,
  ];
}

describe("the bearer header", () => {
  it("may have its scheme in any case, followed by any number of spaces (AUTH-33)", async () => {
    for (const start of ["Bearer ", "bearer ", "BEARER ", "bEaReR    ", "Bearer          "]) {
      expect(await send(`Authorization: ${start}${token}`), start).to.eql(["ada", undefined]);
    }
    expect(await send(`authorization:Bearer ${token}  \t`)).to.eql(["ada", undefined]);
  });

  it("is refused without a token, with several tokens, or if it is repeated (AUTH-33)", async () => {
    for (const lines of [
      ["Authorization: Bearer"],
      ["Authorization: Bearer     "],
      [`Authorization: Bearer ${token} ${token}`],
      [`Authorization: Bearer ${token} x`],
      [`Authorization: Bearer ${token}, Bearer ${token}`],
      [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      [`Authorization: Bearer ${token}`, "authorization: Basic eDp5"],
      ["Authorization: Basic eDp5", `AUTHORIZATION: Bearer ${token}`],
    ]) {
      expect(await send(...lines), lines.join()).to.eql(["nobody", "malformed"]);
    }
  });

  it("is ignored if it has another scheme or a similar name (AUTH-33)", async () => {
    for (const line of [
      "Authorization:",
      "Authorization: Basic eDp5",
      `Authorization: ${token}`,
      `Authorization: Bearer:${token}`,
      `Authorization: Bearer\t${token}`,
      `Authorization: Bearertoken ${token}`,
      `Authorization: "Bearer ${token}"`,
      `Authorization: DPoP ${token}`,
      `Authorization: B\xe5arer ${token}`,
      `X-Authorization: Bearer ${token}`,
      `Proxy-Authorization: Bearer ${token}`,
    ]) {
      expect(await send(line), line).to.eql(["nobody", undefined]);
    }
  });

  it("is refused if invalid characters are around or inside the token (AUTH-33)", async () => {
    for (const bad of [
      `${token}=`,
      `"${token}"`,
      `<${token}>`,
      `${token}\t${token}`,
      `${token}\xa0`,
      `token=${token}`,
      `${token}\xff`,
      ".",
      "..",
      "...",
      "-",
      ",",
      "null",
      "undefined",
      "[object Object]",
      "%00",
    ]) {
      const [caller, reason] = await send(`Authorization: Bearer ${bad}`);
      expect(caller, bad).to.equal("nobody");
      expect(reason, bad).to.be.a("string");
    }
  });

  it("is parsed in linear time with 100 KB of spaces, dots, letters or words (AUTH-20)", async () => {
    const logger = collectingLogger();
    const auth = jwtAuth({ keys: everyKey(), algorithms: ["HS256"], now, logger });
    const big = createServer({ maxHeaderSize: 1_000_000 }, (req, res) => {
      auth(req, res, () => res.end(principalOf(req)?.subject ?? "nobody"));
    });
    await using server = await listen(big);
    // A regular expression that backtracks on any of these would exceed the timeout of the test.
    const fillers = [
      " ",
      ".",
      "a",
      "a.",
      "Bearer ",
      "\t",
      "=",
      "%",
      "\xff",
      "a ",
      " a",
      ", ",
      "\t \t",
      "eyJ9.",
      '"',
    ];
    for (const filler of fillers) {
      const attack = `${filler.repeat(Math.floor(100_000 / filler.length))}x`;
      for (const value of [`Bearer ${attack}`, `bearer ${attack} ${attack}`, attack]) {
        const bytes = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${value}\r\n\r\n`;
        const { status, body } = await rawRequest(server.port, Buffer.from(bytes, "latin1"));
        expect([status, body.includes("nobody")], JSON.stringify(filler)).to.eql([200, true]);
      }
    }
    expect(JSON.stringify(logger.lines).length).to.be.below(10_000);
  });

  it("is not parsed when Node itself refuses the request's headers (AUTH-20)", async () => {
    const [caller, reason] = await send(`Authorization: Bearer ${"a".repeat(100_000)}`);
    expect([caller, reason]).to.eql(["status 431", undefined]);
  });
});
