import fc from "fast-check";

/** A value to log, and the value that the record must contain in its place. */
export interface Logged {
  readonly given: unknown;
  readonly expected: unknown;
}

/** Part of every secret in the generated records. */
export const canary = "canary-5ecr3t";
const censored = "[redacted]";

/** JSON in a string; compared by its parsed value, because escapes may be written in two ways. */
export class JsonText {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

// Field names that the packages use in log calls.
const fieldNames = (
  "acr_values at attempt broker bus cache cause checks code config connections database deliveries durationMs " +
  "duration_ms ended entries env err error event_id failures family from group handlers http_method http_path " +
  "http_status iss job_id jobs jti key kid late_ms level maxEntries message of origin others part pause_ms policy " +
  "provider queue reason request_id running schedule service source sources state status store subject " +
  "suppressed table task tenant_claimed tenant_id time timeout_ms to token_use topic trace_id version why"
).split(" ");
// Names that contain a hint of a secret but are harmless, and names that JSON has to escape.
// prettier-ignore
const innocentNames = [
  "authorization_endpoint", "cookiePolicy", "token_id", "token_type", "tokens left", "secretary", "x-api-key-id",
  'to"ken', "back\\slash", "\ud800", "\u2028", "a\nb", "", "[redacted]",
];
// prettier-ignore
const secretNames = [
  "authorization", "Proxy-Authorization", "cookie", "set-cookie", "x-api-key", "apiKey", "password", "dbPassword",
  "client_secret", "refresh_token", 'quoted"token', "\u00e9_pwd",
];
const pluralNames = ["tokens", "credentials", "api_keys"];
const headers = "authorization Authorization cookie Cookie set-cookie x-api-key X-Csrf-Token".split(" ");

// These strings contain no colon, equals sign or digit, so they do not form a secret in any order.
// prettier-ignore
const pieces = [
  "authorization", "cookie", "set-cookie", "x-api-key", "password", "token", "bearer", "basic", "auth", "key", "x-",
  '"', "\\", "\\\\", "'", "`", "{", "}", "[", "]", ",", " ", "\n", "\r\n", "\t", "\u0000", "\u001b[", "\u0085",
  "\u2028", "\ud800", "\udc00", "\u{1f511}", "\u00e9", "bearer token refused",
];
const looksLikeHeader = /^(?:(?:proxy-|set-)?(?:authorization|cookie)|x-.*)$/i;
const innocentText = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((each) => each.join(""));
const header = fc.constantFrom(...headers);

const secretText = fc
  .tuple(
    innocentText,
    innocentText,
    fc.constantFrom(
      [`password=${canary}`, `password=${censored}`],
      [`?access_token=${canary}&page=2`, `?access_token=${censored}&page=2`],
      [`Bearer ${canary}`, `Bearer ${censored}`],
      [`postgres://app:${canary}@db/x`, `postgres://${censored}@db/x`],
      [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.${canary}`, censored],
      [`authorization: Basic ${canary}`, `authorization: ${censored}`],
      [`Cookie: sid="${canary}"; b=${canary}`, `Cookie: ${censored}`],
      [`{ token: '${canary}', b: 1 }`, `{ token: '${censored}', b: 1 }`],
      [`{"id":1,"secret":"${canary} \\"","b":2}`, `{"id":1,"secret":"${censored}","b":2}`],
    ),
  )
  .map(([before, after, [secret, clean]]) => ({
    given: `see ${before}\n${secret}\n${after}`,
    expected: `see ${before}\n${clean}\n${after}`,
  }));

const same = (given: unknown): Logged => ({ given, expected: given });
const leaf = fc.oneof(
  innocentText.map(same),
  header.map(same),
  secretText,
  fc.constantFrom(0, -1.5, 1e21, true, false, null).map(same),
);
const anySecret = fc.oneof(
  innocentText.map((text): unknown => text + canary),
  fc.constantFrom<unknown>(
    [canary, { a: canary }],
    { a: { "}": canary } },
    [[`"]${canary}`]],
    4242,
    "",
    {},
    [],
  ),
);
const literal = fc.constantFrom(true, false, null);

const { tree } = fc.letrec<{ tree: Logged; list: Logged; object: Logged }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie("list"),
    tie("object"),
    jsonIn(tie("object")),
  ),
  list: fc.oneof(
    fc.array(tie("tree"), { maxLength: 4 }).map(listOf),
    fc.tuple(fc.array(fc.tuple(header, anySecret), { maxLength: 3 }), innocentText).map(rawHeaders),
  ),
  object: members(tie("tree")),
}));

function members(value: fc.Arbitrary<Logged>): fc.Arbitrary<Logged> {
  const member = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...fieldNames, ...innocentNames), value) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...secretNames, ...pluralNames), anySecret.map(hidden)),
    },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...secretNames, ...pluralNames), literal.map(same)) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...pluralNames), fc.nat().map(same)) },
  );
  return fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 6 }).map((all) => {
    const given = Object.fromEntries(all.map(([name, each]) => [name, each.given]));
    // A number under a plural name is a count, so it is not redacted.
    const expected = all.map(([name, each]) => [
      name,
      pluralNames.includes(name) && typeof each.given === "number" ? each.given : each.expected,
    ]);
    return { given, expected: Object.fromEntries(expected) as unknown };
  });
}

function hidden(given: unknown): Logged {
  return { given, expected: censored };
}

function listOf(all: readonly Logged[]): Logged {
  // The name of a secret header in a list would make the next element a secret.
  const plain = all.map((each) =>
    typeof each.given === "string" && looksLikeHeader.test(each.given) ? same(`the ${each.given}`) : each,
  );
  return { given: plain.map(({ given }) => given), expected: plain.map(({ expected }) => expected) };
}

function rawHeaders([all, last]: readonly [readonly (readonly [string, unknown])[], string]): Logged {
  const plain = ["Host", `the ${last}`, "Authorization"];
  return {
    given: [...all.flat(), ...plain],
    expected: [...all.flatMap(([name]) => [name, censored]), ...plain],
  };
}

function jsonIn(value: fc.Arbitrary<Logged>): fc.Arbitrary<Logged> {
  return fc.tuple(value, fc.constantFrom(0, 2)).map(([{ given, expected }, spaces]) => ({
    given: JSON.stringify(given, null, spaces),
    expected: new JsonText(expected),
  }));
}

/** The fields of a log call, with names from the packages and hostile names. */
export const fields: fc.Arbitrary<Logged> = members(tree);
/** The message of a log call, or the value of a field of a child logger. */
export const text: fc.Arbitrary<Logged> = fc.oneof(innocentText.map(same), header.map(same), secretText);
