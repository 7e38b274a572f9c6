export { bodyLimit, type BodyLimitOptions } from "./body-limit.ts";
export type { JsonBodyCode } from "./faults.ts";
export { formBody, type FormBodyOptions } from "./form-body.ts";
export { bodyOf, jsonBody } from "./json-body.ts";
export type { JsonBodyOptions } from "./options.ts";
export type { FormFields } from "./parse-form.ts";
export { answerRefusal } from "./refuse-unread.ts";
export { readText, type ReadTextOptions } from "./read-text.ts";
export { requireContentType } from "./require-content-type.ts";
