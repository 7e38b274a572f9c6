import type { IncomingMessage } from "node:http";

/**
 * Returns the fault of an invalid request that Node accepts, or undefined: a target that is neither a path nor a URL, which
 * no router can match; a missing Host header, or several, of which Node silently keeps the first; a transfer coding that
 * Node reads as chunked and a proxy in front may read differently.
 */
export function requestFault(req: IncomingMessage): string | undefined {
  const { url = "", rawHeaders } = req;
  if (url.charCodeAt(0) !== SLASH && url !== "*" && !isHttpUrl(url))
    return "the target of the request is not valid";
  let hosts = 0;
  let codings = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name?.length === 17 && name.toLowerCase() === "transfer-encoding") {
      codings += 1;
      if (codings > 1 || rawHeaders[i + 1]?.toLowerCase() !== "chunked")
        return "the transfer coding of the request is not supported";
    }
  }
  if (req.httpVersionMajor !== 1) return undefined;
  if (hosts > 1) return "the request has several Host headers";
  return hosts === 0 && req.httpVersionMinor === 1 ? "the request has no Host header" : undefined;
}

const SLASH = 47;

function isHttpUrl(target: string): boolean {
  return /^https?:\/\//i.test(target) && URL.canParse(target);
}
