import { kinds as k } from "@svc/options";

type Headers = Readonly<Record<string, string>>;

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns whether a value is an object of HTTP headers. */
export function areHeaders(value: unknown): value is Headers {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(
      ([name, text]: [string, unknown]) => NAME.test(name) && typeof text === "string" && VALUE.test(text),
    )
  );
}

/** The text of `SVC_TELEMETRY_HEADERS`. */
export const headersInJson: k.Kind<string> = k.secret({
  expects: 'a JSON object of header values, such as {"x-api-key":"..."}',
  accepts: (value): value is string => typeof value === "string" && readJson(value) !== undefined,
});

/** The text of `OTEL_EXPORTER_OTLP_HEADERS`. */
export const headersInList: k.Kind<string> = k.secret({
  expects: "headers as name=value,name=value",
  accepts: (value): value is string => typeof value === "string" && readList(value) !== undefined,
});

/** Returns the headers from the variables; if `SVC_TELEMETRY_HEADERS` is set, only its headers (TRACE-3). */
export function headersOf(json: string | undefined, list: string | undefined): Headers {
  return (
    (json === undefined ? undefined : readJson(json)) ?? (list === undefined ? {} : (readList(list) ?? {}))
  );
}

function readJson(text: string): Headers | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return areHeaders(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readList(text: string): Headers | undefined {
  const headers: Record<string, string> = {};
  for (const member of text.split(",")) {
    if (member.trim() === "") continue;
    const end = member.indexOf("=");
    const name = member.slice(0, end).trim();
    const value = decoded(member.slice(end + 1).trim());
    if (end < 1 || value === undefined) return undefined;
    headers[name] = value;
  }
  return areHeaders(headers) ? headers : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
