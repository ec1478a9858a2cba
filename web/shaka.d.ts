/** The library, which a script of the page puts there. */
declare const shaka: typeof import('shaka-player').default;
