/** A request for one of the two routes of a provider. */
export interface LoginRoute {
  readonly provider: string;
  readonly action: "start" | "callback";
  readonly query: URLSearchParams;
}

/** Parses the path of a request as it was sent; undefined for a path of another handler. */
export function loginRoute(prefix: string, target: string | undefined): LoginRoute | undefined {
  if (target === undefined || !target.startsWith(`${prefix}/`)) return undefined;
  const question = target.indexOf("?");
  const path = question === -1 ? target : target.slice(0, question);
  const [provider, action, ...more] = path.slice(prefix.length + 1).split("/");
  if (provider === undefined || provider === "" || more.length > 0) return undefined;
  if (action !== "start" && action !== "callback") return undefined;
  const query = new URLSearchParams(question === -1 ? "" : target.slice(question + 1));
  return { provider, action, query };
}
