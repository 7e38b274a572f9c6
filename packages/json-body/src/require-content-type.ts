import { describeGuard, type Middleware } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { hasBody } from "./content-type.ts";
import { isMediaType, matcherOf, MEDIA_TYPES_EXPECTED, wrongType } from "./media-types.ts";

/**
 * Rejects a body whose type is not in the list, with a 415 that names the accepted types in its detail and in the
 * `Accept` header (ERR-18). A request without a body passes.
 *
 * @param types lower case, without parameters; `image/*` accepts every subtype, `application/*+json` every subtype with
 *   this suffix
 * @throws ConfigurationError if there is no type, and for an invalid type
 */
export function requireContentType(...types: string[]): Middleware {
  const wrong = types.filter((type) => !isMediaType(type));
  if (types.length === 0 || wrong.length > 0) {
    const message = `must be ${MEDIA_TYPES_EXPECTED}`;
    const faults = (types.length === 0 ? ["types"] : wrong).map((key) => ({ key: String(key), message }));
    throw new ConfigurationError("requireContentType()", faults);
  }
  const accepts = matcherOf(types);
  return describeGuard("content-type", types, function requireContentTypeMiddleware(req, _res, next) {
    if (!hasBody(req) || accepts(req.headers["content-type"])) next();
    else next(wrongType(req, types));
  });
}
