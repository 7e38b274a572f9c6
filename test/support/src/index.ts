export { collectingLogger, type CollectingLogger, type Line } from "./collecting-logger.ts";
export { expressMajors } from "./express-majors.ts";
export { listen, type Listening } from "./listen.ts";
export { rawRequest, type RawAnswer } from "./raw-request.ts";
export { codeBlocks, runSample, type RunningSample, type SampleOptions } from "./readme-sample.ts";
export { rejection } from "./rejection.ts";
export { signToken, type SigningKey } from "./sign-token.ts";
export { type HoldUps, unlessHeldUp, type Watch, watchHoldUps } from "./unless-held-up.ts";
export { until } from "./until.ts";
