/** Version of this package, which is that of ALMA. */
export const VERSION = "0.1.0";
