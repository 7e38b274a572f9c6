import { inspect } from "node:util";
import { githubIdentity } from "@svc/oidc-login";
import { isProblemError } from "@svc/problem";
import { listen, type Listening } from "@svc/test-support";
import { expect } from "chai";
import { type Answer, sendJson } from "./support/hostile-provider.ts";

const user = {
  id: 42,
  login: "ada",
  name: "Ada",
  email: "public@b.example",
  avatar_url: "https://a.example/42",
};
const emails = [
  { email: "old@b.example", primary: false, verified: true },
  { email: "ada@b.example", primary: true, verified: true },
];

describe("githubIdentity()", () => {
  let api: Listening;
  let answers: Record<string, Answer>;
  let headers: Record<string, unknown>[];

  beforeEach(async () => {
    answers = {
      "/user": (_req, res) => sendJson(res, 200, user),
      "/user?moved": (_req, res) => sendJson(res, 200, user),
      "/user/emails": (_req, res) => sendJson(res, 200, emails),
    };
    headers = [];
    api = await listen((req, res) => {
      headers.push({ ...req.headers });
      answers[req.url ?? ""]?.(req, res);
    });
  });
  afterEach(() => api[Symbol.asyncDispose]());

  // The default exceeds any pause of a busy machine. A test whose server never responds passes a shorter limit.
  const ask = (timeoutSeconds = 15) => githubIdentity("gho_1", { apiUrl: api.url, timeoutSeconds });

  async function status(timeoutSeconds?: number): Promise<number | undefined> {
    const error: unknown = await ask(timeoutSeconds).then(
      () => undefined,
      (fault: unknown) => fault,
    );
    return isProblemError(error) ? error.status : undefined;
  }

  it("returns the numeric id and the primary address (OIDC-18, OIDC-20)", async () => {
    expect(await ask()).to.eql({
      subject: "42",
      email: "ada@b.example",
      email_verified: true,
      name: "Ada",
      picture: "https://a.example/42",
      claims: user,
    });
    for (const each of headers) expect(each).to.include({ authorization: "Bearer gho_1" });
    expect(headers.every((each) => typeof each["user-agent"] === "string")).to.equal(true);
  });

  it("reports an address as verified only if GitHub has verified it (OIDC-21)", async () => {
    const lists: unknown[] = [
      [{ email: "ada@b.example", primary: true, verified: false }],
      [{ email: "ada@b.example", primary: true, verified: "true" }],
      [{ email: "ada@b.example", primary: false, verified: true }],
      [],
      {},
      null,
      [null, 7, { primary: true, verified: true }],
    ];
    for (const list of lists) {
      answers["/user/emails"] = (_req, res) => sendJson(res, 200, list);
      expect((await ask()).email_verified, JSON.stringify(list)).to.equal(false);
    }
  });

  it("returns the public address as unverified when the scope user:email is missing", async () => {
    answers["/user/emails"] = (_req, res) => sendJson(res, 404, { message: "Not Found" });
    expect(await ask()).to.include({ email: "public@b.example", email_verified: false });
  });

  it("rejects with a 401 problem when GitHub rejects the token (OIDC-12)", async () => {
    for (const code of [401, 403]) {
      answers["/user"] = (_req, res) => sendJson(res, code, { message: "Bad credentials" });
      expect(await status()).to.equal(401);
    }
  });

  it("hides a token with invalid characters from messages and causes", async () => {
    for (const token of ["gho_secret\nx: y", "gho_secret\u4e00"]) {
      const error: unknown = await githubIdentity(token, { apiUrl: api.url }).then(
        () => undefined,
        (fault: unknown) => fault,
      );
      expect(isProblemError(error) && error.status).to.equal(503);
      expect(inspect(error, { depth: 9 })).not.to.contain("gho_secret");
    }
    expect(headers).to.eql([]);
  });

  const broken: Readonly<Record<string, [answer: Answer, timeoutSeconds?: number]>> = {
    "500": [(_req, res) => sendJson(res, 500, {})],
    "an HTML page": [(_req, res) => res.end("<h1>")],
    "a user without id": [(_req, res) => sendJson(res, 200, { ...user, id: undefined })],
    "an id that is a string": [(_req, res) => sendJson(res, 200, { ...user, id: "42" })],
    "an id of 0": [(_req, res) => sendJson(res, 200, { ...user, id: 0 })],
    "an id that is too large for a number": [(_req, res) => res.end('{"id": 9007199254740993}')],
    "a list": [(_req, res) => sendJson(res, 200, [user])],
    "a redirect": [(_req, res) => res.writeHead(302, { location: "/user?moved" }).end()],
    "nothing before the deadline": [() => undefined, 0.5],
    "a closed connection": [(req) => req.socket.destroy()],
    "10 MB": [(_req, res) => sendJson(res, 200, { ...user, bio: "a".repeat(10_000_000) })],
  };
  for (const [what, [answer, timeoutSeconds]] of Object.entries(broken)) {
    it(`rejects with a 503 problem when GitHub responds with ${what} (OIDC-12)`, async () => {
      answers["/user"] = answer;
      expect(await status(timeoutSeconds)).to.equal(503);
    });
  }
});
