export { type Html, link, markup, type Part, trusted } from "./html.ts";
