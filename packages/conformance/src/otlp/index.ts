export { decodeJson } from "./json-members.ts";
export { decodeProtobuf } from "./decode-protobuf.ts";
export { type Encoding, encodingOf, readRequest, type RequestContent, TRACES_PATH } from "./read-request.ts";
export {
  type ReceivedAttributes,
  type ReceivedEvent,
  type ReceivedSpan,
  receivedSpans,
} from "./received-span.ts";
