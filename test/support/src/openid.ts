export { type Browser, browser, type Started, start } from "./browser.ts";
export { type RealProvider, realProvider, signInThere } from "./real-provider.ts";
