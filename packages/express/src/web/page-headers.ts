import { type Header, header } from "../seeded-headers.ts";

/** The content policy of a page: scripts, styles, images, connections and forms of its own origin only. */
export const pagePolicy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

/** The headers of pages of the kind `web` that differ from helmet's. */
export const pageHeaders: readonly Header[] = [
  header("Content-Security-Policy", pagePolicy),
  header("X-Frame-Options", "DENY"),
  // With helmet's `no-referrer`, browsers send `Origin: null` with the page's own forms.
  header("Referrer-Policy", "same-origin"),
];
