/** One header line of a request, sent exactly as written. */
export type HeaderLine = readonly [name: string, value: string];

/** The trace headers of a request, and what an exporting service must send to the next one. */
export interface TraceContextCase {
  readonly title: string;
  readonly headers: readonly HeaderLine[];
  /** Undefined: the service starts a new trace, without a trace state. */
  readonly continued?: {
    readonly flags: string;
    /** The members of the trace state that is sent, in order. */
    readonly members: readonly string[];
  };
}

export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
export const CALLER = "00f067aa0ba902b7";
export const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;

const REST = `${TRACE_ID}-${CALLER}-01`;
const STATE: HeaderLine = ["tracestate", "east=1"];

function refuses(title: string, ...traceparents: readonly string[]): TraceContextCase {
  const lines = traceparents.map((value): HeaderLine => ["traceparent", value]);
  return { title, headers: [...lines, STATE] };
}

function accepts(title: string, traceparent: string, flags = "01"): TraceContextCase {
  const headers: readonly HeaderLine[] = [["traceparent", traceparent], STATE];
  return { title, headers, continued: { flags, members: ["east=1"] } };
}

/** A case with a valid `traceparent`, the trace states of these lines, and the members that are sent on. */
function state(title: string, values: readonly string[], members: readonly string[]): TraceContextCase {
  return stateIn(
    title,
    values.map((value) => ["tracestate", value]),
    members,
  );
}

function stateIn(title: string, lines: readonly HeaderLine[], members: readonly string[]): TraceContextCase {
  return {
    title,
    headers: [["traceparent", TRACEPARENT], ...lines],
    continued: { flags: "01", members },
  };
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `m${index + 1}=${index + 1}`);
}

const KEY_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_-*/";
const VALUE_CHARACTERS = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index))
  .filter((character) => character !== "," && character !== "=")
  .join("");
const longState = ["a", "b", "c"].map((key) => `${key}=${"v".repeat(200)}`);

/** The cases for `traceparent`. */
export const traceparentCases: readonly TraceContextCase[] = [
  { title: "no trace headers", headers: [] },
  {
    title: "a traceparent alone",
    headers: [["traceparent", TRACEPARENT]],
    continued: { flags: "01", members: [] },
  },
  { title: "a tracestate alone", headers: [STATE] },
  { title: "a tracestate of two members alone", headers: [["tracestate", "east=1,west=2"]] },
  ...["trace-parent", "trace.parent", "trace_parent"].map((name): TraceContextCase => ({
    title: `the header ${name}`,
    headers: [[name, TRACEPARENT], STATE],
  })),
  ...["TraceParent", "tRACEpARENT", "TRACEPARENT"].map((name): TraceContextCase => ({
    title: `the header ${name}`,
    headers: [[name, TRACEPARENT]],
    continued: { flags: "01", members: [] },
  })),
  refuses("two different traceparents", TRACEPARENT, `00-${"1".repeat(32)}-${CALLER}-01`),
  refuses("two equal traceparents", TRACEPARENT, TRACEPARENT),
  refuses("an empty traceparent", ""),
  refuses("a dot behind version 00", `00-${REST}.`),
  refuses("a fifth field behind version 00", `00-${REST}-next`),
  refuses("version ff", `ff-${REST}`),
  refuses("a version that begins with a dot", `.0-${REST}`),
  refuses("a version that ends with a dot", `0.-${REST}`),
  refuses("a version of one digit", `0-${REST}`),
  refuses("a version of three digits", `000-${REST}`),
  refuses("a version of four digits", `0000-${REST}`),
  refuses("a trace id of zeros", `00-${"0".repeat(32)}-${CALLER}-01`),
  refuses("a trace id that begins with a dot", `00-.${TRACE_ID.slice(1)}-${CALLER}-01`),
  refuses("a trace id that ends with a dot", `00-${TRACE_ID.slice(1)}.-${CALLER}-01`),
  refuses("a trace id with the letter g", `00-g${TRACE_ID.slice(1)}-${CALLER}-01`),
  refuses("a trace id of 33 digits", `00-${TRACE_ID}0-${CALLER}-01`),
  refuses("a trace id of 31 digits", `00-${TRACE_ID.slice(1)}-${CALLER}-01`),
  refuses("a trace id in upper case", `00-${TRACE_ID.toUpperCase()}-${CALLER}-01`),
  refuses("a parent id of zeros", `00-${TRACE_ID}-${"0".repeat(16)}-01`),
  refuses("a parent id that begins with a dot", `00-${TRACE_ID}-.${CALLER.slice(1)}-01`),
  refuses("a parent id that ends with a dot", `00-${TRACE_ID}-${CALLER.slice(1)}.-01`),
  refuses("a parent id of 17 digits", `00-${TRACE_ID}-${CALLER}0-01`),
  refuses("a parent id of 15 digits", `00-${TRACE_ID}-${CALLER.slice(1)}-01`),
  refuses("a parent id in upper case", `00-${TRACE_ID}-${CALLER.toUpperCase()}-01`),
  refuses("flags that begin with a dot", `00-${TRACE_ID}-${CALLER}-.0`),
  refuses("flags that end with a dot", `00-${TRACE_ID}-${CALLER}-0.`),
  refuses("flags of three digits", `00-${TRACE_ID}-${CALLER}-001`),
  refuses("flags of one digit", `00-${TRACE_ID}-${CALLER}-1`),
  refuses("flags in upper case", `00-${TRACE_ID}-${CALLER}-0B`),
  refuses("no flags", `00-${TRACE_ID}-${CALLER}`),
  refuses("a space behind a dash", `00- ${REST}`),
  refuses("a space instead of a digit", `00-${TRACE_ID.slice(1)} -${CALLER}-01`),
  refuses("underscores instead of dashes", TRACEPARENT.replaceAll("-", "_")),
  refuses("a letter outside ASCII", `00-é${TRACE_ID.slice(1)}-${CALLER}-01`),
  accepts("a space before the value", ` ${TRACEPARENT}`),
  accepts("a tab before the value", `\t${TRACEPARENT}`),
  accepts("a space behind the value", `${TRACEPARENT} `),
  accepts("a tab behind the value", `${TRACEPARENT}\t`),
  accepts("tabs and spaces around the value", `\t ${TRACEPARENT} \t`),
  accepts("flags 00", `00-${TRACE_ID}-${CALLER}-00`, "00"),
  accepts("flags 02: random", `00-${TRACE_ID}-${CALLER}-02`, "02"),
  accepts("flags 03: sampled and random", `00-${TRACE_ID}-${CALLER}-03`, "03"),
  accepts("flags ff, of which only two are defined", `00-${TRACE_ID}-${CALLER}-ff`, "03"),
  accepts("flags fc, of which none is defined", `00-${TRACE_ID}-${CALLER}-fc`, "00"),
];

/** Versions that the recommendation allows a service to treat as version 00, and that the contract rejects (COR-10). */
export const futureVersionCases: readonly TraceContextCase[] = [
  refuses("version cc", `cc-${REST}`),
  refuses("version cc with a fifth field", `cc-${REST}-next`),
  refuses("version cc with a dot behind the flags", `cc-${REST}.next`),
  refuses("version 01", `01-${REST}`),
];

/** The cases for `tracestate`, all with a valid `traceparent`. */
export const tracestateCases: readonly TraceContextCase[] = [
  state("two members", ["east=1,west=2"], ["east=1", "west=2"]),
  ...["trace-state", "trace.state", "trace_state"].map((name) =>
    stateIn(`the header ${name}`, [[name, "east=1"]], []),
  ),
  ...["TraceState", "tRACEsTATE", "TRACESTATE"].map((name) =>
    stateIn(`the header ${name}`, [[name, "east=1"]], ["east=1"]),
  ),
  state("an empty header", [""], []),
  state("a header of white space", [" \t "], []),
  state("an empty header behind another", ["east=1", ""], ["east=1"]),
  state("an empty header before another", ["", "east=1"], ["east=1"]),
  state("empty members", [",east=1,,west=2, ,"], ["east=1", "west=2"]),
  state("commas alone", [",,"], []),
  state(
    "three headers",
    ["east=1,west=2", "north=3,south=4", "up=5"],
    ["east=1", "west=2", "north=3", "south=4", "up=5"],
  ),
  state("a repeated member", ["east=1,east=1"], ["east=1", "east=1"]),
  state("a repeated key", ["east=1,east=2"], ["east=1", "east=2"]),
  state("a member repeated in another header", ["east=1", "east=1"], ["east=1", "east=1"]),
  state("a key repeated in another header", ["east=1", "east=2"], ["east=1", "east=2"]),
  state(
    "all characters of keys and values",
    [`${KEY_CHARACTERS}=${VALUE_CHARACTERS}`],
    [`${KEY_CHARACTERS}=${VALUE_CHARACTERS}`],
  ),
  state(
    "all characters in a key with an at sign",
    [`${KEY_CHARACTERS}@${KEY_CHARACTERS}=${VALUE_CHARACTERS}`],
    [`${KEY_CHARACTERS}@${KEY_CHARACTERS}=${VALUE_CHARACTERS}`],
  ),
  state("spaces and tabs around commas", ["east=1 \t , \t west=2, \t up=3"], ["east=1", "west=2", "up=3"]),
  state("tabs around commas", ["east=1\t \t,\t \twest=2,\t \tup=3"], ["east=1", "west=2", "up=3"]),
  ...[" east=1", "\teast=1", "east=1 ", "east=1\t", "\t east=1 \t"].map((value) =>
    state(`the value ${JSON.stringify(value)}`, [value], ["east=1"]),
  ),
  state("a space inside a value", ["east=1 2"], ["east=1 2"]),
  ...["east =1", "EAST=1", "ea.st=1", "_east=1", "@east=1,west=2", "=1", "east", "é=1"].map((value) =>
    state(`the malformed key in ${value}`, [value], []),
  ),
  ...["east@=1", "ea@@st=1", "ea@st@x=1", "1east=1"].map((value) =>
    state(`the key in ${value}`, [`${value},west=2`], [value, "west=2"]),
  ),
  ...["east=1=2", "east=,west=3", "east=é"].map((value) =>
    state(`the malformed value in ${JSON.stringify(value)}`, [value], []),
  ),
  state("a malformed member behind valid ones", ["east=1,west=2", "north"], []),
  state(
    "32 members in four headers",
    [0, 8, 16, 24].map((from) =>
      numbered(32)
        .slice(from, from + 8)
        .join(","),
    ),
    numbered(32),
  ),
  state("32 members and an empty one", [`${numbered(32).join(",")},`], numbered(32)),
  state("33 members in two headers", [numbered(32).join(","), "last=1"], []),
  state("40 members", [numbered(40).join(",")], []),
  state("a key of 256 characters", ["east=1", `${"k".repeat(256)}=1`], ["east=1", `${"k".repeat(256)}=1`]),
  state("a key of 257 characters", ["east=1", `${"k".repeat(257)}=1`], []),
  ...[`${"k".repeat(241)}@${"v".repeat(14)}`, `${"k".repeat(242)}@v`, `k@${"v".repeat(15)}`].map((key) =>
    state(
      `a key of ${key.length} characters with an at sign at ${key.indexOf("@")}`,
      ["east=1", `${key}=1`],
      ["east=1", `${key}=1`],
    ),
  ),
  state("a value of 256 characters", [`east=${"v".repeat(256)}`], [`east=${"v".repeat(256)}`]),
  state("a value of 257 characters", [`east=${"v".repeat(257)}`], []),
  state(
    "exactly 512 characters",
    [`a=${"v".repeat(253)},b=${"v".repeat(254)}`],
    [`a=${"v".repeat(253)}`, `b=${"v".repeat(254)}`],
  ),
  state("513 characters", [`a=${"v".repeat(254)},b=${"v".repeat(254)}`], []),
  state("more than 512 characters in three headers", longState, []),
];
