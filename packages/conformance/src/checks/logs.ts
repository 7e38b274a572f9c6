import { type Check, every, must, notApplicable } from "../check.ts";
import type { Kit } from "../kit.ts";
import type { LogLine } from "../log-reader.ts";
import { grant, loggedId } from "./samples.ts";
import { show } from "../show.ts";

const isAccess = ({ value }: LogLine): boolean => value?.["message"] === "request";

/** The lines of one request whose path and id are unique. */
function request(kit: Kit): Promise<{ path: string; id: string; lines: readonly LogLine[] }> {
  return kit.once("logged request", async () => {
    const path = `/${kit.unique()}`;
    const sent = kit.unique();
    const id = loggedId(await kit.get(path, { headers: [["X-Request-ID", sent]] }), sent);
    return { path, id, lines: (await kit.log?.about(path, isAccess)) ?? [] };
  });
}

export const logChecks: readonly Check[] = [
  {
    rule: "LOG-1",
    needs: ["log"],
    async run(kit) {
      await request(kit);
      const lines = (await kit.log?.lines()) ?? [];
      const wrong = lines.find(({ value }) => value === undefined);
      return every([
        must(lines.length > 0, "no line", "lines of the requests of this run"),
        must(wrong === undefined, () => show(wrong?.text), "one JSON object per line"),
      ]);
    },
  },
  {
    rule: "LOG-2",
    needs: ["log"],
    async run(kit) {
      const { id, path } = await request(kit);
      const lines = ((await kit.log?.lines()) ?? []).filter(({ value }) => value !== undefined);
      const members = ["service", "env", "level", "message"];
      const wrong = lines.find(({ value }) => members.some((name) => typeof value?.[name] !== "string"));
      const missing = members.filter((name) => typeof wrong?.value?.[name] !== "string");
      const own = lines.some(({ text }) => text.includes(id) || text.includes(path));
      if (!own) return notApplicable("the log says nothing about a request of this run");
      return must(wrong === undefined, `a line without ${missing.join(", ")}`, members.join(", "));
    },
  },
  {
    rule: "LOG-3",
    needs: ["log"],
    async run(kit) {
      const { path, lines } = await request(kit);
      const line = lines.find(isAccess)?.value;
      if (line === undefined) {
        return must(false, "no line with message `request` for a request", "the access line");
      }
      const { http_method: method, http_path, http_status: status, duration_ms: duration } = line;
      return every([
        must(method === "GET", () => `http_method ${show(method)}`, "GET"),
        must(
          typeof http_path === "string" && http_path.endsWith(path),
          () => `http_path ${show(http_path)}`,
          "the path",
        ),
        must(typeof status === "number" && status >= 400, () => `http_status ${show(status)}`, "the status"),
        must(
          typeof duration === "number" && duration >= 0,
          () => `duration_ms ${show(duration)}`,
          "a number",
        ),
      ]);
    },
  },
  {
    rule: "LOG-4",
    needs: ["log", "tenancy", "keys", "probe:tenant"],
    async run(kit) {
      const { tenant: probe } = kit.settings.probes;
      const tenant = kit.settings.tokenTenant;
      if (probe === undefined || tenant === undefined) return notApplicable("no tenant");
      const id = kit.unique();
      const answer = await kit.ask(probe.request, {
        token: grant(kit),
        headers: [["X-Request-ID", id]],
      });
      if (!answer.ok) return notApplicable(`the probe \`tenant\` answers ${answer.status}: see TEN-1`);
      const lines = (await kit.log?.about(loggedId(answer, id), isAccess)) ?? [];
      const line = lines.find(isAccess);
      if (line === undefined) return notApplicable("no access line: see LOG-3");
      return must(
        line.value?.["tenant_id"] === tenant,
        () => `tenant_id ${show(line.value?.["tenant_id"])}`,
        `tenant_id ${show(tenant)}`,
      );
    },
  },
];
