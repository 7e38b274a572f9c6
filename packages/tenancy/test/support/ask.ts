import { rawRequest } from "@svc/test-support";

/** A request, sent exactly as written here. */
export interface Asked {
  readonly method?: string;
  readonly target?: string;
  /** Header lines; `Host: example.com` is added when Host is missing. */
  readonly lines?: readonly string[];
  /** The verified caller, as `verified` reads it. */
  readonly caller?: { readonly sub?: string; readonly tenant?: string } | "expired" | undefined;
  readonly version?: "1.0" | "1.1";
}

/** The response. */
export interface Answered {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request exactly as written, encoded as Latin-1. */
export async function ask(
  port: number,
  { method = "GET", target = "/", lines = [], caller, version = "1.1" }: Asked = {},
): Promise<Answered> {
  const hosted = version === "1.0" || lines.some((line) => /^(?:host|:authority):/i.test(line));
  const head = [
    `${method} ${target} HTTP/${version}`,
    ...(hosted ? [] : ["Host: example.com"]),
    ...lines,
    ...(caller === undefined
      ? []
      : [`Authorization: Test ${caller === "expired" ? caller : JSON.stringify(caller)}`]),
    "Connection: close",
    "",
    "",
  ];
  const answer = await rawRequest(port, Buffer.from(head.join("\r\n"), "latin1"));
  const text = Buffer.from(answer.body, "latin1").toString("utf8");
  return {
    status: answer.status,
    headers: answer.headers,
    body: text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}
