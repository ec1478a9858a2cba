/** What `ImageProcessor.make` reads of an image that is in memory. */
export const sourceOf = (bytes: Uint8Array) => () => Promise.resolve([bytes]);
