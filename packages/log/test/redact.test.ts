import { createLogger } from "@svc/log";
import { expect } from "chai";
import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";
import { lines, memberNames } from "./support/lines.ts";

const canary = "canary-5ecr3t";

function written(fields: object, message = "m", redact: string[] = []): string {
  const out = lines();
  createLogger({ service: "shop", env: "local", destination: out, redact }).info(fields, message);
  expect(out.records()).to.have.length(1);
  return out.text;
}

describe("redaction", () => {
  // prettier-ignore
  const names = [
    "authorization", "Authorization", "proxy-authorization", "cookie", "cookies", "set-cookie", "token",
    "access_token", "refresh_token", "id_token", "accessToken", "x-csrf-token", "password", "dbPassword",
    "passwd", "pwd", "secret", "client_secret", "SVC_AUTH_SECRET", "api_key", "apiKey", "x-api-key",
    "private_key", "credentials", "passphrase", "password_hash", "secretKey", "SECRET_KEY", "passwordConfirm",
    "password_confirmation",
  ];
  for (const name of names) {
    it(`redacts the value of ${name} at any depth and in strings (LOG-1)`, () => {
      const shapes: object[] = [
        { [name]: canary },
        { a: { b: [{ [name]: canary }] } },
        { [name]: { value: canary, list: [canary, '"}]'] } },
        { [name]: [canary, `quote " and \\ ${canary}`] },
        { body: JSON.stringify({ [name]: canary }) },
        { body: JSON.stringify({ x: JSON.stringify({ [name]: `${canary}"\\` }) }) },
        { body: JSON.stringify({ [name]: [canary] }, null, 2) },
        { note: `{ ${name}: '${canary}' }` },
        { note: `${name}=${canary}&b=2` },
      ];
      for (const shape of shapes) {
        expect(written({ ...shape, after: "kept" }))
          .to.contain('"after":"kept"')
          .and.not.to.contain(canary);
      }
    });
  }

  it("redacts secrets in bindings, messages, errors and their causes (LOG-1)", () => {
    const out = lines();
    const logger = createLogger({ service: "shop", env: "local", destination: out });
    logger.child({ token: canary }).info("x");
    logger.info(`GET https://user:${canary}@example.test/path?access_token=${canary}&page=2`);
    const cause = new Error(`cannot connect to postgres://app:${canary}@db:5432/app`);
    logger.error({ err: new Error(`failed: ${cause.message}`, { cause }) });
    logger.error(Object.assign(new Error(`redis://:${canary}@cache`), { password: canary }));
    logger.info(`headers: authorization: Bearer ${canary}`);
    logger.info(`Cookie: sid=${canary}; other=${canary}\nHost: kept`);
    logger.info({
      rawHeaders: ["Authorization", `Basic ${canary}`, "Cookie", `sid="${canary}"`, "Host", "kept"],
    });
    logger.info("%j", { password: canary });
    expect(out.text).not.to.contain(canary);
    expect(out.text).to.contain("postgres://[redacted]@db:5432/app").and.to.contain("&page=2");
    expect(out.text.match(/kept/g)).to.have.length(2);
    expect(out.records()).to.have.length(8);
  });

  it("redacts secret X- headers in a list of raw headers (LOG-1)", () => {
    const rawHeaders = ["X-Api-Key", canary, "x-amz-security-token", canary, "X-Token-Count", "kept"];
    expect(written({ rawHeaders }))
      .to.contain('"x-amz-security-token","[redacted]","X-Token-Count","kept"')
      .and.not.to.contain(canary);
  });

  // prettier-ignore
  const headers = [
    "authorization", "Authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-csrf-token",
  ];
  for (const header of headers) {
    it(`keeps the member after a field with the value ${header} (LOG-2)`, () => {
      const fields = { reason: "malformed", at: header, after: header, last: { name: header, note: "kept" } };
      const line = written(fields, "bearer token refused");
      const own = ["level", "time", "service", "env"];
      expect(memberNames(line)).to.deep.equal([...own, "reason", "at", "after", "last", "message"]);
      expect(JSON.parse(line)).to.deep.include({ ...fields, message: "bearer token refused" });
    });

    it(`does not redact JSON members in a string that follow a member with the value ${header} (LOG-2)`, () => {
      const body = JSON.stringify({ at: header, message: "kept", [header]: null }, null, 1);
      expect(JSON.parse(written({ body, note: `got ${body}` }))).to.deep.include({
        body,
        note: `got ${body}`,
      });
    });

    it(`redacts the element after ${header} in a list (LOG-1)`, () => {
      const raw = ["Vary", "Cookie", header, canary, "Host", "kept"];
      const lists = {
        raw,
        body: JSON.stringify({ raw }, null, 2),
        pairs: [[header, canary] as const, ["Host", "kept"] as const],
        several: [header, [canary, canary], "Host", "kept"],
        number: [header, 5, header, null, "kept"],
      };
      const record = JSON.parse(written(lists)) as typeof lists;
      expect(JSON.stringify(record)).not.to.contain(canary);
      expect(record.raw).to.deep.equal(["Vary", "Cookie", "[redacted]", "[redacted]", "Host", "kept"]);
      expect(record.pairs).to.deep.equal([
        [header, "[redacted]"],
        ["Host", "kept"],
      ]);
      expect(record.several).to.deep.equal([header, "[redacted]", "Host", "kept"]);
      expect(record.number).to.deep.equal([header, "[redacted]", header, null, "kept"]);
    });
  }

  it("redacts a token after a line break or a control character (LOG-1)", () => {
    const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
    for (const before of ["\n", "\r\n", "\t", "\u001b", "\u0085", "\u2028"]) {
      const record = JSON.parse(written({ note: `got${before}${jwt}` }, `got${before}Bearer ${canary}`));
      expect(record).to.include({
        note: `got${before}[redacted]`,
        message: `got${before}Bearer [redacted]`,
      });
    }
  });

  it("finds the end of a secret in header lines, in quotes and in invalid JSON (LOG-1)", () => {
    const texts = {
      [`authorization=\nauthorization: ${canary}\nHost: kept`]:
        "authorization=\nauthorization: [redacted]\nHost: kept",
      [`Cookie: a="${canary}";\tb=${canary}\nHost: kept`]: "Cookie: [redacted]\nHost: kept",
      [`{ password: \`it's "${canary}"\`, b: 'kept' }`]: "{ password: `[redacted]`, b: 'kept' }",
      [`{ password: 'it\\'s ${canary}', b: 'kept' }`]: "{ password: '[redacted]', b: 'kept' }",
      [`{"a":1,"password":${canary}\n,"b":"kept`]: '{"a":1,"password":"[redacted]"\n,"b":"kept',
      [`see {"password":{"a":"${canary}"},"b":1}`]: 'see {"password":"[redacted]"',
      [`{"note":"a\n\\tkey","token":"${canary}","b":"kept"}`]:
        '{"note":"a\n\\tkey","token":"[redacted]","b":"kept"}',
      [`{"note":"\\xkey","token":"${canary}","b":"kept"}`]:
        '{"note":"\\xkey","token":"[redacted]","b":"kept"}',
      [`{"token":"${canary}"}\n{"token":"${canary}","b":1`]:
        '{"token":"[redacted]"}\n{"token":"[redacted]","b":1',
    };
    for (const [given, expected] of Object.entries(texts)) {
      expect(JSON.parse(written({ note: given }))).to.include({ note: expected });
    }
  });

  for (const name of ["authorization", "proxy_authorization", "access_token"]) {
    it(`redacts the credentials after a scheme in ${name}=Bearer … (LOG-1)`, () => {
      for (const scheme of ["Bearer ", "basic  ", "Token\t", "DPoP "]) {
        const texts = [`${name}=${scheme}${canary} kept`, `"${name} = ${scheme}${canary}" kept`];
        for (const text of texts) {
          expect(written({ note: text }, text))
            .to.contain("kept")
            .and.not.to.contain(canary);
        }
      }
      expect(written({}, `${name}=${canary} kept`)).to.contain("[redacted] kept");
    });
  }

  it("redacts the credentials after any white space in an Authorization header (LOG-1)", () => {
    for (const space of ["  ", "\t", " \t "]) {
      expect(JSON.parse(written({}, `Authorization: Bearer${space}${canary} kept`))).to.include({
        message: "Authorization: [redacted] kept",
      });
    }
  });

  it("redacts secrets in member names and keeps the names distinct (LOG-1)", () => {
    const urls = {
      [`postgres://app:${canary}@a/x`]: 1,
      [`postgres://app:${canary}2@a/x`]: 2,
      "https://a": 3,
    };
    const record = JSON.parse(written({ urls, body: JSON.stringify(urls) })) as {
      urls: object;
      body: string;
    };
    const clean = {
      "postgres://[redacted]@a/x (1)": 1,
      "postgres://[redacted]@a/x (2)": 2,
      "https://a": 3,
    };
    expect(record.urls).to.deep.equal(clean);
    expect(JSON.parse(record.body)).to.deep.equal(clean);
  });

  it("redacts a URL's credentials even if the password contains unescaped characters (LOG-1)", () => {
    for (const password of ["p@ss", "p/ss", "p:s?s", "p#s", "a%40b", "p\\s", "p\\nx"]) {
      const line = written({ url: `postgres://app:${password}-${canary}@db/app` });
      expect(line, password).to.contain("@db/app").and.not.to.contain(canary);
    }
    const two = written({}, `amqp://a:${canary}@one,amqp://b:${canary}@two/x and http://c:${canary}@three`);
    expect(two).not.to.contain(canary);
  });

  it("redacts bearer tokens and JSON web tokens in any string (LOG-1)", () => {
    const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl";
    expect(written({}, `sent Bearer ${canary} to it`))
      .to.contain(" to it")
      .and.not.to.contain(canary);
    expect(written({ note: `got ${jwt}, kept` }))
      .to.contain(", kept")
      .and.not.to.contain("c2lnbmF0dXJl");
  });

  it("redacts the values of names that an application adds", () => {
    expect(
      written({ patient: { SSN: canary, "card-number": canary } }, "m", ["ssn", "card_number"]),
    ).not.to.contain(canary);
  });

  it("keeps values that are not secret", () => {
    const fields = {
      token_id: "t1",
      token_type: "Bearer",
      prompt_tokens: 12,
      tokens: 500,
      password: null,
      has_password: true,
      url: "https://registry.test/@svc/log?mail=a@b.test",
      words: ["token", "secret"],
      password_changed_at: "2020-01-01",
      password_confirmed: "yes",
      token_count: 3,
      author: "ann",
      secretary: "bob",
      public_key: "ssh-ed25519 AAAA",
    };
    const text = "invalid token: it has expired; basic auth; the secret is kept";
    const out = lines();
    createLogger({ service: "shop", env: "local", destination: out }).info(fields, text);
    expect(out.records()[0]).to.deep.include({ ...fields, message: text });
  });

  it("redacts a secret with any characters in nested JSON strings (LOG-1)", () => {
    const around = fc.string({
      unit: fc.constantFrom('"', "\\", "'", "}", "]", ",", ":", " ", "a", "\n"),
      maxLength: 8,
    });
    fc.assert(
      fc.property(
        around,
        around,
        fc.nat(3),
        fc.boolean(),
        fc.boolean(),
        (before, after, depth, list, spaced) => {
          const secret = `${before}${canary}${after}`;
          let value: unknown = { id: before, refresh_token: list ? [{ x: secret }] : secret, other: after };
          for (let i = 0; i < depth; i++) value = { body: JSON.stringify(value, null, spaced ? 2 : 0) };
          expect(written({ value, after: "kept" }))
            .to.contain('"after":"kept"')
            .and.not.to.contain(canary);
        },
      ),
      { numRuns: 3000 },
    );
  }).timeout(60_000);

  it("writes a JSON object for any string around a secret (LOG-1)", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "token",
        '"',
        "\\",
        ":",
        "=",
        "'",
        "{",
        "}",
        "[",
        "]",
        ",",
        " ",
        "://",
        "@",
        "cookie: ",
        "\n",
      ),
      fc.constantFrom(
        "Bearer ",
        "eyJ",
        "password=",
        'secret":"',
        '\\"token\\":\\"',
        "authorization: ",
        "\u2028",
      ),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, text, text, (key, value, message) => {
        const line = written(
          { [key]: value, nested: { [key]: [value, { [value]: key }] }, after: 1 },
          message,
        );
        expect(line.match(/\n/g)).to.have.length(1);
      }),
      { numRuns: 3000 },
    );
  }).timeout(60_000);

  it("takes linear time", () => {
    // prettier-ignore
    const attacks = [
      "token\\\\", 'token"', "password='", "://", "://a:b", "eyJ", "bearer a", "authorization: ", "cookie:", "token ",
      'secret":', '\\"token\\":{', "s://:x@", "api_", "token='a'", "basic  ", "cookie: a\n", "authorization=",
    ];
    const logger = createLogger({ service: "shop", env: "local", destination: { write() {} } });
    for (const attack of attacks) {
      // For sixteen times the text, quadratic time would be 256 times as long.
      expect(
        growth((text) => logger.info(text), attack),
        JSON.stringify(attack),
      ).to.be.below(130);
    }
    for (const element of [
      "authorization",
      "{token}",
      '"token"',
      '["token"]',
      '{"\\"token":1}',
      "token=\\",
    ]) {
      expect(
        growth((text) => logger.info(JSON.stringify(text.split(" "))), `${element} `),
        element,
      ).to.be.below(130);
    }
  }).timeout(60_000);
});

/**
 * Returns the factor by which `run` takes longer for sixteen times the text, computed from the shortest time of each
 * length. Other processes only add time, so a result above the limit is measured again, up to 100 times.
 */
function growth(run: (text: string) => void, piece: string): number {
  const [short, long] = [piece.repeat(2_000), piece.repeat(32_000)];
  let [shortMs, longMs] = [Infinity, Infinity];
  for (let round = 1; ; round++) {
    shortMs = Math.min(shortMs, cost(run, short));
    longMs = Math.min(longMs, cost(run, long));
    const times = longMs / Math.max(shortMs, 0.2);
    if ((round >= 5 && times < 130) || round >= 100) return times;
  }
}

function cost(run: (text: string) => void, text: string): number {
  const start = performance.now();
  run(text);
  return performance.now() - start;
}
