const TRACES_PATH = "/v1/traces";

/** Returns whether a string is an http or https URL, whose user-info, if any, is percent-encoded. */
export function isHttpUrl(text: string): boolean {
  try {
    const { protocol, hostname, username, password } = new URL(text);
    decodeURIComponent(username + password);
    return (protocol === "http:" || protocol === "https:") && hostname !== "";
  } catch {
    return false;
  }
}

/** Returns the URL that receives spans: `/v1/traces` of the endpoint, or the endpoint itself when it has a path. */
export function tracesUrl(endpoint: string): string {
  const { pathname } = new URL(endpoint);
  return pathname === "/" ? below(endpoint) : endpoint;
}

/** Returns the URL below a base URL that receives spans, as for `OTEL_EXPORTER_OTLP_ENDPOINT` (TRACE-2). */
export function below(base: string): string {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, "") + TRACES_PATH;
  return url.href;
}

/** Returns a URL without user-info, query and fragment, as `/ready` shows it (TRACE-24). */
export function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
