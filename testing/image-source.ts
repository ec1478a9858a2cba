/** The source that `ImageProcessor.make` reads for an image that is in memory. */
export const sourceOf = (bytes: Uint8Array) => () => Promise.resolve([bytes]);
