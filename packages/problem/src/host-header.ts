import type { IncomingMessage } from "node:http";

/**
 * What is wrong with the Host header of a request, or undefined. Node keeps the first of several and says nothing,
 * so a proxy in front may have looked at another one.
 */
export function hostFault(req: IncomingMessage): string | undefined {
  if (req.httpVersionMajor !== 1) return undefined;
  const { rawHeaders } = req;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (hosts > 1) return "the request has several Host headers";
  return hosts === 0 && req.httpVersionMinor === 1 ? "the request has no Host header" : undefined;
}
