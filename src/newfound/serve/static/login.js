// The page to log in with a token.
import { fillTexts } from "./strings.js";

fillTexts();
