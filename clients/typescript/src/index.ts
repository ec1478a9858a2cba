export { Reelwright, type ReelwrightOptions } from './client.ts';
export { JobEndedError, ReelwrightError } from './errors.ts';
export type { RetryOptions } from './http.ts';
export type { BatchOutcome, SubmitOptions } from './requests.ts';
export type { components, operations, paths } from './schema.ts';
export type * from './types.ts';
export type { UploadOptions, UploadProgress, UploadSource } from './uploads.ts';
export type { WaitOptions } from './wait.ts';
