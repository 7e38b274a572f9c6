import type { Answer } from "../answer.ts";
import { type Check, check, every, must, notApplicable, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { ordinary, samplesOf } from "./samples.ts";

/** Requests a path that does not exist: its problem contains the service's request id. */
function unknownPath(kit: Kit, headers: readonly (readonly [string, string])[]): Promise<Answer> {
  return kit.get(`/${kit.unique()}`, { headers });
}

/** Returns the request id of an answer, from its header or body. */
function idOf(answer: Answer): unknown {
  return answer.header("x-request-id") ?? answer.object?.["request_id"];
}

export const correlationChecks: readonly Check[] = [
  check("COR-1", {}, async (kit) => {
    const verdicts: Verdict[] = [];
    // Proxies often send header names in lower case.
    for (const name of ["X-Request-ID", "x-request-id"]) {
      const id = kit.unique();
      const answer = await unknownPath(kit, [[name, id]]);
      verdicts.push(
        must(
          answer.header("x-request-id") === id || answer.object?.["request_id"] === id,
          () => `${show(idOf(answer))} for ${name}: ${id}`,
          "the id that the request brought",
        ),
      );
    }
    return every(verdicts);
  }),
  check("COR-2", {}, async (kit) => {
    const ids = [idOf(await unknownPath(kit, [])), idOf(await unknownPath(kit, []))];
    return every([
      must(
        ids.every((id) => typeof id === "string" && id !== ""),
        () => `${show(ids[0])} and ${show(ids[1])}`,
        "an id for a request that brings none",
      ),
      must(ids[0] !== ids[1], () => `${show(ids[0])} twice`, "a new id for each request"),
    ]);
  }),
  check("COR-3", {}, async (kit) => {
    const verdicts: Verdict[] = [];
    for (const path of ["/health", `/${kit.unique()}`]) {
      const id = kit.unique();
      const answer = await kit.get(path, { headers: [["X-Request-ID", id]] });
      const echoed = answer.header("x-request-id");
      const differs = answer.object?.["request_id"] === id && echoed !== id;
      verdicts.push(
        must(Boolean(echoed), `no X-Request-ID on ${answer.status}`, "the id of the request"),
        must(!differs, () => `${show(echoed)} on a problem of ${id}`, "the id of the request"),
      );
    }
    // Exception handlers often lose the header.
    for (const { what, answer } of await samplesOf(kit, ...ordinary)) {
      const echoed = Boolean(answer.header("x-request-id"));
      verdicts.push(must(echoed, `${what}: no X-Request-ID on ${answer.status}`, "the id of the request"));
    }
    return every(verdicts);
  }),
  check("COR-4", { needs: ["log"] }, async (kit) => {
    const path = `/${kit.unique()}`;
    const id = kit.unique();
    await kit.get(path, { headers: [["X-Request-ID", id]] });
    const lines = (await kit.log?.about(path)) ?? [];
    if (lines.length === 0) return notApplicable("no line of the log names the path of the request");
    const without = lines.find(({ value }) => typeof value?.["request_id"] !== "string");
    return must(without === undefined, "a line of the request without request_id", "request_id on each");
  }),
  check("COR-6", {}, async (kit) => {
    const plain = kit.unique();
    if (idOf(await unknownPath(kit, [["X-Request-ID", plain]])) !== plain) {
      return notApplicable("no id is reused: see COR-1");
    }
    const ids = ["7", "!~#$%&'()*+,-./:;<=>?@[]^_`{|}", `${kit.unique()}${"x".repeat(128)}`.slice(0, 128)];
    const verdicts: Verdict[] = [];
    for (const id of ids) {
      const answer = await unknownPath(kit, [["X-Request-ID", id]]);
      verdicts.push(
        must(idOf(answer) === id, () => `${show(idOf(answer))} for ${show(id)}`, "the id reused"),
      );
    }
    return every(verdicts);
  }),
  check("COR-7", {}, async (kit) => {
    const bad: readonly (readonly [string, readonly string[]])[] = [
      ["129 characters", [`${kit.unique()}${"y".repeat(129)}`.slice(0, 129)]],
      ["a space", [`${kit.unique()} x`]],
      ["a byte above ASCII", [`${kit.unique()}\u00e9`]],
      ["a tab", [`${kit.unique()}\tx`]],
      ["two headers", [kit.unique(), kit.unique()]],
    ];
    const verdicts: Verdict[] = [];
    for (const [what, values] of bad) {
      const answer = await kit.get("/health", {
        headers: values.map((value) => ["X-Request-ID", value] as const),
      });
      const echoed = answer.header("x-request-id") ?? "";
      verdicts.push(
        must(answer.status === 200, `${answer.status} for an id with ${what}`, "no refusal"),
        must(
          !values.some((value) => echoed.includes(value.slice(0, 19))),
          `an id with ${what} was echoed`,
          "a minted id instead",
        ),
      );
    }
    return every(verdicts);
  }),
  check("COR-8", {}, async (kit) => {
    const id = idOf(await unknownPath(kit, []));
    if (typeof id !== "string" || id === "") return notApplicable("no id was minted: see COR-2");
    return must(/^[0-9a-f]{32}$/.test(id), () => show(id), "32 lowercase hex characters");
  }),
];
