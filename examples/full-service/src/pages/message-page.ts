import { markup } from "@svc/html";
import { layout } from "./layout.ts";

/** The content of a page with one message. */
export interface Message {
  readonly title: string;
  readonly text: string;
  /** Target of the link: a path of this site. */
  readonly href: string;
  readonly link: string;
}

export function messagePage({ title, text, href, link }: Message): string {
  return layout(
    title,
    markup`<h1>${title}</h1>
<p>${text}</p>
<p><a href="${href}">${link}</a></p>`,
  );
}
