import sharp, { type Sharp } from 'sharp';

/**
 * sharp with the loaders of a few raster formats alone: no SVG, no PDF, no ImageMagick, no format that refers to other
 * files. Importing this module blocks the others for the whole process.
 */
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [
    'VipsForeignLoadJpeg',
    'VipsForeignLoadPng',
    'VipsForeignLoadWebp',
    'VipsForeignLoadHeif',
    'VipsForeignLoadNsgif',
  ],
});
sharp.cache(false);

export { type Sharp, sharp };
