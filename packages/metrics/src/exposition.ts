import type { Registry } from "prom-client";

/** Media type of the Prometheus text format (MET-1). */
export const TEXT_TYPE = "text/plain; version=0.0.4";
/** Media type of OpenMetrics (MET-2). */
export const OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * Returns whether an `Accept` header asks for OpenMetrics: it names the type in a supported version and does not prefer
 * plain text. A wildcard does not ask for OpenMetrics.
 */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  if (accept === undefined || !/openmetrics/i.test(accept)) return false;
  let open = 0;
  let text = 0;
  for (const entry of accept.toLowerCase().split(",")) {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const named = new Map(parameters.map(nameAndValue));
    const weight = Number(named.get("q") ?? 1);
    const quality = weight >= 0 && weight <= 1 ? weight : 0;
    const version = named.get("version") ?? "1.0.0";
    if (type === "application/openmetrics-text" && version === "1.0.0") open = Math.max(open, quality);
    if (type === "text/plain") text = Math.max(text, quality);
  }
  return open > 0 && open >= text;
}

function nameAndValue(parameter: string): [name: string, value: string] {
  const [name = "", ...value] = parameter.replaceAll('"', "").split("=");
  return [name.trim(), value.join("=").trim()];
}

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  readonly exemplar?: {
    readonly labelSet: Sample["labels"];
    readonly value: number;
    readonly timestamp: number;
  } | null;
}

/**
 * Writes a registry with the plain text format as OpenMetrics 1.0. prom-client can do so only after switching the registry's
 * format, which permanently renames the counters.
 */
export async function openMetricsText(registry: Registry): Promise<string> {
  const lines: string[] = [];
  for (const { name, help, type, values } of await registry.getMetricsAsJSON()) {
    // The published types declare a number, but the value is a word such as "counter".
    const kind = String(type);
    const family = kind === "counter" ? name.replace(/_total$/, "") : name;
    lines.push(`# HELP ${family} ${escape(help)}`, `# TYPE ${family} ${kind}`);
    for (const { metricName, labels, value, exemplar } of values as readonly Sample[]) {
      const sample = kind === "counter" ? `${family}_total` : (metricName ?? name);
      lines.push(`${sample}${labelText(labels)} ${numberText(value)}${exemplarText(exemplar)}`);
    }
  }
  return `${lines.join("\n")}\n# EOF\n`;
}

function exemplarText(exemplar: Sample["exemplar"]): string {
  if (exemplar === undefined || exemplar === null) return "";
  return ` # ${labelText(exemplar.labelSet)} ${numberText(exemplar.value)} ${exemplar.timestamp}`;
}

function labelText(labels: Sample["labels"]): string {
  const written = Object.entries(labels).map(([name, value]) => {
    const text = name === "le" || name === "quantile" ? boundText(value) : String(value);
    return `${name}="${escape(text)}"`;
  });
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

// OpenMetrics requires bounds in canonical form: 1.0, not 1.
function boundText(bound: string | number | undefined): string {
  return typeof bound === "number" && Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
