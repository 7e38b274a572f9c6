import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

export interface DocsAsset {
  readonly type: string;
  readonly body: string;
}

/** The files of the page, by their names below the page's path. */
export const docsAssets: Readonly<Record<"docs.js" | "docs.css", DocsAsset>> = {
  "docs.js": { type: "text/javascript; charset=utf-8", body: SCRIPT },
  "docs.css": { type: "text/css; charset=utf-8", body: STYLE },
};
