import type { Check, Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import { requestOf } from "../requests.ts";
import { short } from "../show.ts";
import { grant } from "../grant.ts";
import { every, must, mustBe, notApplicable } from "../verdict.ts";

/** Sends requests with recognizable paths, then reads the metrics. */
function scrape(kit: Kit) {
  return kit.once("scrape", async () => {
    // The first mark is an unknown path; the second mark is the value of `{random}` in the templated path.
    const marks = [kit.unique(), kit.unique()];
    const { templated } = kit.settings.probes;
    const token = grant(kit);
    await kit.get(`/${marks[0]}`, { token });
    if (templated !== undefined) {
      const { path } = requestOf(templated.request);
      await kit.ask(templated.request, { path: path.replaceAll("{random}", marks[1] ?? ""), token });
    }
    return { answer: await kit.get("/metrics"), marks, templated: templated !== undefined };
  });
}

/** Builds a check of the text that `/metrics` returns. SYS-7 requires the endpoint itself. */
function ofMetrics(rule: string, needs: readonly Need[], judge: (kit: Kit) => Promise<Verdict>): Check {
  return {
    rule,
    needs: ["metrics", ...needs],
    async run(kit) {
      const { answer } = await scrape(kit);
      const isThere = answer.status === 200 && answer.body.length > 0;
      return isThere ? judge(kit) : notApplicable("there are no metrics: see SYS-7");
    },
  };
}

/** Returns the label sets of a metric, each as the text between its braces. */
async function labelsOf(kit: Kit, name: string): Promise<readonly string[]> {
  const { answer } = await scrape(kit);
  const line = new RegExp(`^${name}\\{([^\\n]*)\\} `, "gm");
  return [...answer.text.matchAll(line)].map(([, labels]) => labels ?? "");
}

function hasLabels(labels: string, names: readonly string[]): boolean {
  return names.every((name) => new RegExp(`(?:^|,)${name}="`).test(labels));
}

function labelled(rule: string, name: string, sample: string, labels: readonly string[]): Check {
  return ofMetrics(rule, [], async (kit) => {
    const seen = await labelsOf(kit, sample);
    return every([
      must(seen.length > 0, `no ${sample}`, `${name}{${labels.join(",")}}`),
      must(
        seen.every((each) => hasLabels(each, labels)),
        `${sample}{${short(seen.find((each) => !hasLabels(each, labels)) ?? "", 80)}}`,
        `${name}{${labels.join(",")}}`,
      ),
    ]);
  });
}

export const metricsChecks: readonly Check[] = [
  ofMetrics("MET-1", [], async (kit) => {
    const { answer } = await scrape(kit);
    return must(
      answer.mediaType === "text/plain" && /^[a-zA-Z_:][\w:]*(?:\{.*\})? [-+\d.eENaIinf]+/m.test(answer.text),
      `${answer.mediaType || "no content type"}: ${short(answer.text, 40)}`,
      "Prometheus text as text/plain",
    );
  }),
  ofMetrics("MET-2", [], async (kit) => {
    const open = "application/openmetrics-text";
    const asked = await kit.get("/metrics", { headers: [["Accept", `${open};version=1.0.0`]] });
    const { answer } = await scrape(kit);
    return every([
      must(answer.mediaType !== open, "OpenMetrics for any Accept", "OpenMetrics only if Accept requests it"),
      must(
        asked.mediaType === open
          ? asked.text.trimEnd().endsWith("# EOF")
          : asked.mediaType === answer.mediaType,
        `${asked.mediaType} without # EOF`,
        "OpenMetrics that ends with # EOF if Accept requests it",
      ),
    ]);
  }),
  labelled("MET-3", "http_requests_total", "http_requests_total", ["method", "endpoint", "status"]),
  labelled("MET-4", "http_request_duration_seconds", "http_request_duration_seconds_count", [
    "method",
    "endpoint",
  ]),
  labelled("MET-5", "http_requests_in_progress", "http_requests_in_progress", ["method"]),
  labelled("MET-6", "service_info", "service_info", ["service", "version"]),
  ofMetrics("MET-7", [], async (kit) => {
    const { answer } = await scrape(kit);
    return must(/^process_\w+/m.test(answer.text), "no metric named process_*", "metrics of the process");
  }),
  ofMetrics("MET-8", ["probe:templated"], async (kit) => {
    const template = kit.settings.probes.templated?.template ?? "";
    const labels = await labelsOf(kit, "http_requests_total");
    return mustBe(
      labels.some((each) => each.includes(`endpoint="${template}"`)),
      { "no series for": template },
      `endpoint="${template}"`,
    );
  }),
  ofMetrics("MET-9", [], async (kit) => {
    const labels = await labelsOf(kit, "http_requests_total");
    if (labels.length === 0) return notApplicable("there is no http_requests_total: see MET-3");
    return must(
      labels.some((each) => each.includes('endpoint="<unmatched>"')),
      "no series for <unmatched>",
      'endpoint="<unmatched>" for a path that no route matched',
    );
  }),
  ofMetrics("MET-10", [], async (kit) => {
    const { answer, marks } = await scrape(kit);
    const leaked = marks.some((mark) => answer.text.includes(mark));
    return must(!leaked, "a raw path in a label", "route templates only");
  }),
];
