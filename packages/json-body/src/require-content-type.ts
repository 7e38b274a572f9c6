import { describeGuard, type Middleware } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { essenceOf, hasBody } from "./content-type.ts";
import { unsupported } from "./faults.ts";

const PATTERN = /^[a-z0-9!#$&^_.-]+\/(?:\*|(?:\*\+)?[a-z0-9!#$&^_.+-]+)$/;

/**
 * Rejects a body whose type is not in the list, with a 415 that names the accepted types in its detail and in the
 * `Accept` header (ERR-18). A request without a body passes.
 *
 * @param types lower case, without parameters; `image/*` accepts every subtype, `application/*+json` every subtype with
 *   this suffix
 * @throws ConfigurationError if there is no type, and for an invalid type
 */
export function requireContentType(...types: string[]): Middleware {
  const wrong = types.filter((type) => typeof type !== "string" || !PATTERN.test(type));
  if (types.length === 0 || wrong.length > 0) {
    const message = "must be at least one media type in lower case, such as application/json";
    const faults = (types.length === 0 ? ["types"] : wrong).map((key) => ({ key: String(key), message }));
    throw new ConfigurationError("requireContentType()", faults);
  }
  const exact: ReadonlySet<string> = new Set(types);
  const ranges = types.filter((type) => type.includes("*")).map(rangeOf);
  const list = types.join(", ");
  return describeGuard("content-type", types, function requireContentTypeMiddleware(req, _res, next) {
    if (!hasBody(req)) {
      next();
      return;
    }
    const essence = essenceOf(req.headers["content-type"]);
    if (exact.has(essence) || ranges.some((range) => range(essence))) next();
    else {
      const detail = `the content type must be ${types.length === 1 ? list : `one of: ${list}`}`;
      next(unsupported(req, "ERR_SVC_CONTENT_TYPE", detail, { Accept: list }));
    }
  });
}

function rangeOf(type: string): (essence: string) => boolean {
  const star = type.indexOf("*");
  const [start, end] = [type.slice(0, star), type.slice(star + 1)];
  return (essence) =>
    essence.length > start.length + end.length && essence.startsWith(start) && essence.endsWith(end);
}
